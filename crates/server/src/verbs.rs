//! One file tells one verb's story.
