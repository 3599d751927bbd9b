// Command hello is the smallest function there can be: what a cold start takes
// before any code of Postino's runs.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(context.Context, any) (string, error) { return "hello", nil })
}
