/** What Lambda gives a handler beside the event. */
import type { Context } from 'aws-lambda';

export const context = (functionName: string): Context => ({
  functionName,
  functionVersion: '$LATEST',
  invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`,
  memoryLimitInMB: '512',
  awsRequestId: '00000000-0000-4000-8000-000000000000',
  logGroupName: `/aws/lambda/${functionName}`,
  logStreamName: 'stream',
  callbackWaitsForEmptyEventLoop: false,
  getRemainingTimeInMillis: () => 30_000,
  done: () => {},
  fail: () => {},
  succeed: () => {},
});
