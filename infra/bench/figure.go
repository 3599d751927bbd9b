package main

import (
	"encoding/json"
	"math"
	"strconv"
)

// figure is a number that may be unknown: NaN here, null in JSON, "–" in print.
type figure float64

var unknown = figure(math.NaN())

// known reports whether there is a number.
func (f figure) known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON writes null for an unknown figure.
func (f figure) MarshalJSON() ([]byte, error) {
	if !f.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads null as unknown.
func (f *figure) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*f = unknown
		return nil
	}
	return json.Unmarshal(b, (*float64)(f))
}

// String prints about three digits, more where the number is large.
func (f figure) String() string {
	switch v := math.Abs(float64(f)); {
	case !f.known():
		return "–"
	case v >= 100 || v == 0:
		return strconv.FormatFloat(float64(f), 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(float64(f), 'f', 1, 64)
	default:
		return strconv.FormatFloat(float64(f), 'f', 2, 64)
	}
}

// series is a list of figures that are computed with: in JSON as a list of them.
type series []float64

// MarshalJSON writes null for an unknown one.
func (s series) MarshalJSON() ([]byte, error) {
	out := make([]figure, len(s))
	for i, v := range s {
		out[i] = figure(v)
	}
	return json.Marshal(out)
}

// UnmarshalJSON is the inverse.
func (s *series) UnmarshalJSON(b []byte) error {
	var in []figure
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*s = make(series, len(in))
	for i, v := range in {
		(*s)[i] = float64(v)
	}
	return nil
}
