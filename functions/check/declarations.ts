/** The declarations of a deployment, judged by what it allows. A run is refused what the deployment does not allow. */

import { PIPELINES_PREFIX } from '@tidewheel/contract/bucket-keys.ts';
import { pastScheduleProblems } from '@tidewheel/declaration/read.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import { type DeploymentRules, readAllowedStored } from '../run/ingest/allowed.ts';
import type { StackView } from './account-view.ts';
import type { CheckDeps } from './check-deployment.ts';

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== ''),
  );

/** The output `Parameters` of the stack (serverless/plugin.cjs). */
const parametersSchema = z.object({
  subnets: list,
  securityGroups: list,
  imageAccounts: list,
  sharedPrefixes: list,
  packageIndexSecret: z.string().default(''),
  packageIndexRepository: z.string().default(''),
  registries: z
    .string()
    .default('')
    .transform((text) => text === 'yes'),
  packers: z.coerce.number().int().min(1).optional(),
  notify: z.enum(['objects', 'markers']).default('objects'),
  marker: z.string().default('_SUCCESS'),
});

export function deploymentOf(
  { outputs }: Pick<StackView, 'outputs'>,
  { bucket, stateMachineArn }: Pick<CheckDeps, 'bucket' | 'stateMachineArn'>,
): DeploymentRules & Pick<CheckDeps, 'packers'> {
  const [, , , , account = ''] = stateMachineArn.split(':');
  const { notify, marker, packers, ...named } = parametersSchema.parse(
    JSON.parse(outputs.get('Parameters') ?? '{}'),
  );
  return {
    allowed: { account, ...named },
    bucket,
    packers,
    ...(notify === 'markers' && { notifiedMarker: marker }),
  };
}

export async function readDeclarations(
  store: Pick<ObjectStore, 'list' | 'readText'>,
  deployment: DeploymentRules,
): Promise<Pick<CheckDeps, 'pipelines' | 'invalid'>> {
  const pipelines: CheckDeps['pipelines'][number][] = [];
  const invalid: CheckDeps['invalid'][number][] = [];
  for await (const { key } of store.list(PIPELINES_PREFIX)) {
    if (!key.endsWith('.yaml')) continue;
    const name = key.slice(PIPELINES_PREFIX.length, -'.yaml'.length);
    const { text = '', lastModified = new Date(0) } = (await store.readText(key)) ?? {};
    const declaration = readAllowedStored(deployment, name, text);
    const problems = declaration.valid
      ? pastScheduleProblems(declaration.pipeline, lastModified)
      : declaration.problems;
    if (problems.length > 0) invalid.push({ name, problems });
    else if (declaration.valid) pipelines.push(declaration.pipeline);
  }
  return { pipelines, invalid };
}
