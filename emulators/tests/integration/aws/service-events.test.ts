/** Events of the services that stand beside the emulator, and the same refusal as AWS's for every other `aws.` source. */
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { beforeAll, expect, it } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';

const emulator = emulatorOfSuite();
let events: EventBridgeClient;

beforeAll(async () => {
  events = new EventBridgeClient(clientConfiguration(emulator.url));
});

const send = async (...sources: string[]) => {
  const entry = { DetailType: 'Test', Detail: '{}' };
  const { Entries } = await events.send(
    new PutEventsCommand({ Entries: sources.map((Source) => ({ ...entry, Source })) }),
  );
  return (Entries ?? []).map(({ ErrorCode }) => ErrorCode ?? 'taken');
};

it('takes events of SageMaker and EC2', async () => {
  expect(await send('aws.sagemaker', 'aws.ec2')).toEqual(['taken', 'taken']);
});

it('refuses other sources that begin with aws', async () => {
  expect(await send('aws.s3')).toEqual(['NotAuthorizedForSourceException']);
  expect(await send('aws.sagemaker', 'aws.s3')).toEqual([
    'NotAuthorizedForSourceException',
    'NotAuthorizedForSourceException',
  ]);
});

it('takes a source of ours', async () => {
  expect(await send('tidewheel')).toEqual(['taken']);
});
