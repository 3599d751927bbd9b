package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// bitmap is a set of sequence numbers from 0. As JSON it is base64.
type bitmap []uint64

// maxSeq bounds what a marker may make a bitmap grow to.
const maxSeq = 1 << 26

// add puts i in and reports whether it was new. Numbers outside 0..maxSeq are
// not taken.
func (b *bitmap) add(i int64) bool {
	if i < 0 || i >= maxSeq {
		return false
	}
	word := int(i >> 6)
	if word >= len(*b) {
		*b = append(*b, make(bitmap, word+1-len(*b)+len(*b)/2)...)
	}
	mask := uint64(1) << (i & 63)
	if (*b)[word]&mask != 0 {
		return false
	}
	(*b)[word] |= mask
	return true
}

// has reports whether i is in.
func (b bitmap) has(i int64) bool {
	word := i >> 6
	return i >= 0 && word < int64(len(b)) && b[word]&(1<<(i&63)) != 0
}

// count is how many are in.
func (b bitmap) count() int64 {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return int64(n)
}

// each calls f with every member in rising order.
func (b bitmap) each(f func(i int64)) {
	for word, w := range b {
		for ; w != 0; w &= w - 1 {
			f(int64(word)<<6 + int64(bits.TrailingZeros64(w)))
		}
	}
}

// MarshalJSON writes the words little-endian in base64.
func (b bitmap) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, 8*len(b))
	for _, w := range b {
		raw = binary.LittleEndian.AppendUint64(raw, w)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(raw))
}

// UnmarshalJSON is the inverse.
func (b *bitmap) UnmarshalJSON(data []byte) error {
	var raw []byte
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*b = make(bitmap, len(raw)/8)
	for i := range *b {
		(*b)[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return nil
}
