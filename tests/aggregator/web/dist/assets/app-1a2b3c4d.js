document.title = "fleetperf";
