// Command fanout is the function that turns pages of large topics into jobs.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"postino/functions/internal/build"
)

func main() { lambda.Start(build.MustFanout()) }
