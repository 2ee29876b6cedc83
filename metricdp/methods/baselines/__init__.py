"""Published methods of private clustering in a box, with exact integer noise: for comparison."""
