package dynamostore

import "postino/shared/push"

// deliveryItem is the whole record. write is this write's own random name.
func deliveryItem(d push.Delivery, write string) (item, error) {
	i := newItem(deliveryKey(d.Key))
	i["n"], i["state"], i["write"] = number(d.Attempt), text(string(d.State)), text(write)
	i.setText("kind", string(d.Kind))
	i.setText("owner", d.Owner)
	i.setTime("lease", d.LeaseEnd)
	i.setTime("nextAt", d.NextAt)
	i.setText("nextPhase", d.NextPhase)
	i.setText("reason", d.Reason)
	i.setText("target", d.Target)
	if len(d.Attempts) > 0 {
		history, err := packHistory(d.Attempts)
		if err != nil {
			return nil, err
		}
		i["history"] = history
	}
	i.setTime("created", d.CreatedAt)
	i.setTime("updated", d.UpdatedAt)
	i.setTime("expires", d.Expires)
	i.setTTL(d.Expires)
	i.setLists(d.Key, d.State, listedAt(d))
	return i, nil
}

func readDelivery(i item) (push.Delivery, error) {
	f := read(i)
	d := push.Delivery{Kind: push.Kind(f.text("kind")), Attempt: int(f.number("n")), State: push.State(f.text("state")), Owner: f.text("owner"), LeaseEnd: f.time("lease"),
		NextAt: f.time("nextAt"), NextPhase: f.text("nextPhase"), Reason: f.text("reason"), Target: f.text("target"),
		CreatedAt: f.time("created"), UpdatedAt: f.time("updated"), Expires: f.time("expires")}
	var ok bool
	if d.Key, ok = parseDeliveryKey(f.text("pk"), f.text("sk")); !ok {
		f.fail("pk", errNoDelivery)
	}
	d.Attempts = f.history("history")
	return d, f.fault("a delivery")
}
