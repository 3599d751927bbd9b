package dynamostore

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

// A record is written twice for each retry and billed by the started KB. Its
// attempts say nearly the same over and over: as JSON the 20 that are kept take
// more than 5 KB, deflated 0.8, so that a record stays below 2 KB however often
// the endpoint fails.

// maxHistory bounds what a stored history unpacks to.
const maxHistory = 1 << 20

// deflaters are kept: each has a megabyte of tables, and a batch's jobs end
// together.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// packHistory is the attempts as they are stored.
func packHistory(attempts []push.Attempt) (types.AttributeValue, error) {
	var packed bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&packed)
	if err := json.NewEncoder(w).Encode(attempts); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &types.AttributeValueMemberB{Value: packed.Bytes()}, nil
}

// history reads what packHistory made; nil where there is none.
func (f *fields) history(name string) (attempts []push.Attempt) {
	switch a := f.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		r := io.LimitReader(flate.NewReader(bytes.NewReader(a.Value)), maxHistory)
		if err := json.NewDecoder(r).Decode(&attempts); err != nil {
			f.fail(name, err)
		}
	default:
		f.fail(name, fmt.Errorf("is a %T, no binary", a))
	}
	return attempts
}
