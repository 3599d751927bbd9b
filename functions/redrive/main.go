// Command redrive is the function that sends dead letters again.
package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"postino/functions/internal/build"
)

func main() { lambda.Start(build.MustRedrive()) }
