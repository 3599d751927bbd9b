package sqlitequeue

// dueHeap orders hidden messages by when they become visible. It has four
// children a node and holds the times inline, so that sifting through a hundred
// thousand entries touches few cache lines.
type dueHeap []dueEntry

type dueEntry struct {
	at int64
	m  *message
}

const arity = 4

func (h *dueHeap) push(at int64, m *message) {
	*h = append(*h, dueEntry{})
	h.up(len(*h)-1, dueEntry{at, m})
}

// remove takes the entry at position i out.
func (h *dueHeap) remove(i int) {
	s := *h
	last := s[len(s)-1]
	s[len(s)-1] = dueEntry{}
	*h = s[:len(s)-1]
	if i == len(s)-1 {
		return
	}
	if i > 0 && last.at < s[(i-1)/arity].at {
		h.up(i, last)
	} else {
		h.down(i, last)
	}
}

// move gives the entry at position i another time.
func (h *dueHeap) move(i int, at int64) {
	m := (*h)[i].m
	h.remove(i)
	h.push(at, m)
}

func (h *dueHeap) set(i int, e dueEntry) {
	(*h)[i] = e
	e.m.pos = int32(i)
}

func (h *dueHeap) up(i int, e dueEntry) {
	for i > 0 {
		parent := (i - 1) / arity
		if (*h)[parent].at <= e.at {
			break
		}
		h.set(i, (*h)[parent])
		i = parent
	}
	h.set(i, e)
}

func (h *dueHeap) down(i int, e dueEntry) {
	for {
		least, at := -1, e.at
		for c := i*arity + 1; c <= i*arity+arity && c < len(*h); c++ {
			if (*h)[c].at < at {
				least, at = c, (*h)[c].at
			}
		}
		if least < 0 {
			break
		}
		h.set(i, (*h)[least])
		i = least
	}
	h.set(i, e)
}
