// Command deliver is the function that makes attempts: it takes the jobs of the attempt and retry queues.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"postino/functions/internal/build"
)

func main() { lambda.Start(build.MustDeliver()) }
