/** Every function of the service, by the name of its folder. */
import { api } from '../functions/api/function.ts';
import { collectScores } from '../functions/collect-scores/function.ts';
import { judge } from '../functions/judge/function.ts';
import { launch } from '../functions/launch/function.ts';
import { onArrival } from '../functions/on-arrival/function.ts';
import { onSpotWarning } from '../functions/on-spot-warning/function.ts';
import { onTrainingEvent } from '../functions/on-training-event/function.ts';
import { packShards } from '../functions/pack-shards/function.ts';
import { place } from '../functions/place/function.ts';
import { planShards } from '../functions/plan-shards/function.ts';
import { reconcile } from '../functions/reconcile/function.ts';
import { report } from '../functions/report/function.ts';
import { sealDataset } from '../functions/seal-dataset/function.ts';
import { settle } from '../functions/settle/function.ts';
import { arnOf, roleId, type Value } from './cloudformation.ts';
import type { FunctionDescription } from './function-description.ts';

export const functions = {
  'on-arrival': onArrival,
  settle,
  'plan-shards': planShards,
  'pack-shards': packShards,
  'seal-dataset': sealDataset,
  place,
  'collect-scores': collectScores,
  launch,
  judge,
  report,
  'on-training-event': onTrainingEvent,
  'on-spot-warning': onSpotWarning,
  reconcile,
  api,
} as const satisfies Readonly<Record<string, FunctionDescription>>;

export type FunctionName = keyof typeof functions;

export const describedFunctions: readonly (readonly [name: string, FunctionDescription])[] =
  Object.entries(functions);

/** Contents of functions.yml. Format: https://www.serverless.com/framework/docs/providers/aws/guide/functions */
export const functionsDocument = (): Value =>
  Object.fromEntries(
    describedFunctions.map(([name, description]) => [name, declarationOf(name, description)]),
  );

function declarationOf(name: string, description: FunctionDescription): Value {
  const { memoryMegabytes, environment, events, layers, files } = description;
  return {
    description: description.description,
    handler: `functions/${name}/handler.handler`,
    role: arnOf(roleId(name)),
    timeout: description.timeoutSeconds,
    ...(memoryMegabytes !== undefined && { memorySize: memoryMegabytes }),
    ...(layers !== undefined && { layers }),
    ...(environment !== undefined && { environment }),
    ...(events !== undefined && { events }),
    ...(files !== undefined && { package: { patterns: files } }),
  };
}
