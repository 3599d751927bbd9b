// Command publish is the function that answers the front door: Function URL requests, direct invokes and
// EventBridge events.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"postino/functions/internal/build"
)

func main() { lambda.Start(build.MustPublish()) }
