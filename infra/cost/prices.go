package main

import (
	_ "embed"
	"encoding/json"
)

//go:embed prices.json
var pricesJSON []byte

// Prices are list prices in US dollars.
type Prices struct {
	// Date is when they were looked up, Region whose they are.
	Date   string `json:"date"`
	Region string `json:"region"`
	Source string `json:"source"`
	// Pages are where AWS publishes them.
	Pages []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"pages"`
	// Unit is the price of one unit.
	Unit map[Unit]float64 `json:"unit"`
	// Other are prices of what no row has: Lambda's time on x86_64, a call of KMS, a
	// gigabyte of logs kept for a month.
	Other struct {
		X86GBSecond float64 `json:"lambdaGBSecondX86"`
		KMSRequest  float64 `json:"kmsRequest"`
		LogGBMonth  float64 `json:"logGBMonth"`
	} `json:"other"`
	// Month holds what is billed by the month, each with what it is for.
	Month []Monthly `json:"month"`
	// KeyRotation is what a rotation of the KMS key adds to every later month, and
	// how many of them do.
	KeyRotation struct {
		Count int     `json:"count"`
		Price float64 `json:"price"`
	} `json:"keyRotation"`
	// Optional holds what is billed by the month where it is asked for, or where
	// there is enough to do.
	Optional []Monthly `json:"optional"`
	// SNS is what to compare with.
	SNS struct {
		PublishPerMillion  float64 `json:"publishPerMillion"`
		DeliveryPerMillion float64 `json:"httpDeliveryPerMillion"`
	} `json:"sns"`
}

// Monthly is a fixed cost.
type Monthly struct {
	What  string  `json:"what"`
	Count float64 `json:"count"`
	Price float64 `json:"price"`
}

func prices() (p Prices, err error) { return p, json.Unmarshal(pricesJSON, &p) }

// Of is what usage costs. kinds narrows it to some units, all when empty.
func (p Prices) Of(u Usage, kinds ...Unit) (dollars float64) {
	if len(kinds) == 0 {
		kinds = Units
	}
	for _, k := range kinds {
		dollars += u[k] * p.Unit[k]
	}
	return dollars
}
