package figures

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var some = Figures{Machine: "a machine", Functions: []Function{
	{Name: Hello, Bytes: 1e6, Init: []float64{3, 1, 2}, First: []float64{1}},
	{Name: "quick", Bytes: MostBytes - 1, Init: []float64{99, 2 + MostInit, 1}, First: []float64{4.25}},
	{Name: "slow", Bytes: 5e6, Init: []float64{2.1 + MostInit}, First: []float64{1}},
	{Name: "large", Bytes: MostBytes, Init: []float64{1}, First: []float64{1}},
}}

func TestWhatIsSlowOrLargeMisses(t *testing.T) {
	if got := some.Missed(); !slices.Equal(got, []string{"slow", "large"}) {
		t.Errorf("missed have %q", got)
	}
	table := some.Table()
	for _, want := range []string{"| hello world | 1.0 MB | 2.0 ms |  | 1.0 ms |  |\n", "| quick | 20.0 MB | 32.0 ms | 30.0 ms | 4.2 ms | met |\n",
		"| slow | 5.0 MB | 32.1 ms | 30.1 ms | 1.0 ms | **missed** |\n", "| large | 20.0 MB | 1.0 ms | -1.0 ms | 1.0 ms | **missed** |\n", "on a machine."} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

func TestFiguresAreReadAsTheyWereWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := some.Write(file); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(file); err != nil || !reflect.DeepEqual(got, some) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWithoutSizesThereIsNoColumnForThem(t *testing.T) {
	if table := (Figures{Functions: []Function{{Name: Hello, Init: []float64{1}, First: []float64{1}}}}).Table(); strings.Contains(table, "B |") || strings.Contains(table, "binary") {
		t.Error(table)
	}
}
