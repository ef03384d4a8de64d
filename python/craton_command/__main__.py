"""`python -m craton_command`: as the command `craton`."""

from craton_command import main

if __name__ == "__main__":
    main()
