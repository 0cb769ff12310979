/** The function that answers EC2's events, deployed: bundled as for AWS, behind its queue and its rule of the bus. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { createFunction } from '@tidewheel/emulators/tests/integration/aws/lambda.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { bundledFunction } from '../../support/bundled-function.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { signedFetch } from '../../support/signed-fetch.ts';

const PROJECT = path.join(import.meta.dirname, '../../..');
const resources = z.object({
  Resources: z.object({
    SpotWarningRule: z.object({ Properties: z.object({ EventPattern: z.unknown() }) }),
    HostStateRule: z.object({ Properties: z.object({ EventPattern: z.unknown() }) }),
  }),
});

/**
 * Once it resolves, events on the default bus reach the function.
 * @returns ends what stands beside the emulator
 */
export async function deployOnSpotWarning(
  url: string,
  environment: Readonly<Record<string, string>>,
): Promise<() => void> {
  const functionName = 'on-spot-warning';
  const sageMaker = await startEmptySageMaker();
  await createFunction(url, functionName, await bundledFunction('on-spot-warning'), {
    ...environment,
    AWS_ENDPOINT_URL_SAGEMAKER: sageMaker.url,
  });
  const queue = await createQueue(url, 'spot-warnings');
  await post(`${url}/2015-03-31/event-source-mappings/`, {
    EventSourceArn: queue,
    FunctionName: functionName,
    BatchSize: 10,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
  const template = await readFile(path.join(PROJECT, 'serverless/events.yml'), 'utf8');
  const { Resources } = resources.parse(parse(template, { logLevel: 'silent' }));
  const events = new EventBridgeClient(clientConfiguration(url));
  for (const [Name, { Properties }] of Object.entries(Resources)) {
    await events.send(new PutRuleCommand({ Name, EventPattern: JSON.stringify(Properties.EventPattern) }));
    await events.send(new PutTargetsCommand({ Rule: Name, Targets: [{ Id: 'queue', Arn: queue }] }));
  }
  return sageMaker.close;
}

/** Replaces SageMaker, which the emulator lacks and which gets the first request for every job: it knows no job. */
async function startEmptySageMaker() {
  const server = http.createServer((_, response) => {
    response.writeHead(400, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify({ __type: 'ResourceNotFound', message: 'Requested resource not found.' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** @returns its ARN */
async function createQueue(url: string, name: string): Promise<string> {
  const { QueueUrl } = z
    .object({ QueueUrl: z.string() })
    .parse(await post(url, { QueueName: name }, 'AmazonSQS.CreateQueue'));
  const answer = await post(url, { QueueUrl, AttributeNames: ['QueueArn'] }, 'AmazonSQS.GetQueueAttributes');
  return z.object({ Attributes: z.object({ QueueArn: z.string() }) }).parse(answer).Attributes.QueueArn;
}

async function post(url: string, body: unknown, target?: string): Promise<unknown> {
  const response = await signedFetch(url, {
    service: target === undefined ? 'lambda' : 'sqs',
    method: 'POST',
    headers:
      target === undefined
        ? { 'content-type': 'application/json' }
        : { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${target ?? url}: ${response.status} ${await response.text()}`);
  return response.json();
}
