package sqlitedb
import ("testing";"context")
func TestX(t *testing.T){
 d,err:=Open(Options{Dir:t.TempDir()}); if err!=nil{t.Fatal(err)}
 if err:=d.Do(context.Background(),func(tx*Tx)error{_,e:=tx.Exec("INSERT INTO meta VALUES('a',?)",1);return e});err!=nil{t.Fatal(err)}
 if err:=d.Close();err!=nil{t.Fatal(err)}
}
