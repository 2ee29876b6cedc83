"""Methods that papers compare with or print, built of the package's pieces, one file each."""
