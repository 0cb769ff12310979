/** A pipeline whose training only counts (campaign/train.py), for what is measured of the service around it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiOwner, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import type { LocalClients } from '@tidewheel/emulators/region/clients.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { stringify } from 'yaml';

export interface Counting {
  readonly name: string;
  readonly quietSeconds: number;
  /** Each takes a second. */
  readonly steps: number;
  readonly stepsBetweenSaves: number;
}

type Region = ApiOwner & { readonly clients: LocalClients };

/** Puts its script and declares it. */
export async function declareCounting(region: Region, counting: Counting): Promise<void> {
  const { name, quietSeconds, steps, stepsBetweenSaves } = counting;
  const { clients, stack } = region;
  const Body = await readFile(join(import.meta.dirname, 'campaign/train.py'));
  const Key = `${bucketKeys.source(name)}train.py`;
  await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
  const declaration = {
    name,
    settle: { quietSeconds },
    packing: { label: 'none' },
    training: {
      strategy: 'single',
      hyperparameters: { steps, save_steps: stepsBetweenSaves },
    },
    compute: {
      instanceTypes: ['c5.xlarge', 'c6i.xlarge', 'm5.xlarge'],
      purchaseOption: 'spot',
      vpc: await defaultVpc(clients.ec2),
    },
    limits: { deadlineHours: 2 },
  };
  const { status, body } = await apiClient(region).call('PUT', `/pipelines/${name}`, stringify(declaration));
  if (status !== 200) throw new Error(`the pipeline was refused: ${JSON.stringify(body)}`);
}
