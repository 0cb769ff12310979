/** A stack with nothing but outputs, by which commands find a deployment. */
import {
  CloudFormationClient,
  CreateStackCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { clientConfiguration } from './emulator.ts';

export async function createStack(
  url: string,
  outputs: Readonly<Record<string, string>>,
  name = 'tidewheel-dev',
): Promise<void> {
  const client = new CloudFormationClient(clientConfiguration(url));
  const template = {
    Resources: { Queue: { Type: 'AWS::SQS::Queue' } },
    Outputs: Object.fromEntries(Object.entries(outputs).map(([key, Value]) => [key, { Value }])),
  };
  await client.send(new CreateStackCommand({ StackName: name, TemplateBody: JSON.stringify(template) }));
  await waitUntilStackCreateComplete({ client, maxWaitTime: 30, minDelay: 1 }, { StackName: name });
  client.destroy();
}
