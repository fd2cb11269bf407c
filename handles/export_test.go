package handles

// Sized makes a table that runs out of slots and generations soon.
func Sized(slotBits, generationBits int) *Table { return sized(slotBits, generationBits) }
