package stack

// The bounds of admit.
const (
	Behind     = behind
	HeldAtMost = heldAtMost
)
