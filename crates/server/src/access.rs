//! Who asks, may they, is there room.
