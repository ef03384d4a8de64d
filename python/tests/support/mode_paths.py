"""Two earthquakes, three stations and the paths between them, as the compiled kernels take them."""

import numpy as np

KNOTS_M = np.array([3480e3, 4300e3, 5200e3, 5800e3, 6151e3, 6368e3])
FILTER_S = (800.0, 500.0, 180.0, 150.0)
EVENTS = {
    "event_latitude_deg": np.array([-20.3, 36.1]),
    "event_longitude_deg": np.array([-70.8, 140.2]),
    "event_depth_m": np.array([35e3, 350e3]),
    "moment_tensor_Nm": 1e20 * np.array([[0.8, -0.3, -0.5, 0.4, -1.1, 0.6], [-0.2, 0.9, -0.7, 0.3, 0.5, -0.4]]),
    "half_duration_s": np.array([12.0, 5.0]),
}
STATIONS = {
    "station_latitude_deg": np.array([48.3, -35.3, 71.3]),
    "station_longitude_deg": np.array([8.3, 149.0, 203.2]),
}
PATHS = {
    "event": np.array([0, 0, 0, 1, 1, 1]),
    "station": np.array([0, 1, 2, 0, 1, 2]),
    "t_first_s": np.linspace(200, 450, 6),
    "sample_interval_s": 12.5,
    "samples": np.array([80, 90, 100, 110, 120, 1]),
}
