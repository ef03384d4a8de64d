#include <craton/base/build_config.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>

#include <cstdint>
#include <iostream>

int main() {
    try {
        (void)craton::base::narrow<int>(std::int64_t{1} << 40, "consumer");
    } catch (const craton::user_error& error) {
        std::cout << "craton " << craton::base::build_config::version << ": " << error.what() << '\n';
        return 0;
    }
    return 1;
}
