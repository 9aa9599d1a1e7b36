"""From an image file to a batch of pixels: packs, loading, crops, augmentation."""
