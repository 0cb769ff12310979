/** Every function of the service, by the name of its folder. */

import { arnOf, CONDITIONS, roleId, type Value } from '../../serverless/describe/cloudformation.ts';
import type { FunctionDescription } from '../../serverless/describe/function-description.ts';
import { abandonCompaction } from './abandon-compaction/function.ts';
import { api } from './api/function.ts';
import { collectScores } from './collect-scores/function.ts';
import { compactShards } from './compact-shards/function.ts';
import { deletePacked } from './delete-packed/function.ts';
import { diagnose } from './diagnose/function.ts';
import { expireRuns } from './expire-runs/function.ts';
import { handOver } from './hand-over/function.ts';
import { judge } from './judge/function.ts';
import { launch } from './launch/function.ts';
import { onArrival } from './on-arrival/function.ts';
import { onSpotWarning } from './on-spot-warning/function.ts';
import { onTrainingEvent } from './on-training-event/function.ts';
import { packShards } from './pack-shards/function.ts';
import { page } from './page/function.ts';
import { place } from './place/function.ts';
import { plan } from './plan/function.ts';
import { planCompaction } from './plan-compaction/function.ts';
import { planShards } from './plan-shards/function.ts';
import { reconcile } from './reconcile/function.ts';
import { report } from './report/function.ts';
import { sealCompaction } from './seal-compaction/function.ts';
import { sealDataset } from './seal-dataset/function.ts';
import { sendNotices } from './send-notices/function.ts';
import { settle } from './settle/function.ts';
import { startNextExecution } from './start-next-execution/function.ts';
import { unpackArchives } from './unpack-archives/function.ts';

export const functions = {
  'on-arrival': onArrival,
  settle,
  'unpack-archives': unpackArchives,
  'plan-shards': planShards,
  'pack-shards': packShards,
  'seal-dataset': sealDataset,
  'plan-compaction': planCompaction,
  'compact-shards': compactShards,
  'seal-compaction': sealCompaction,
  'abandon-compaction': abandonCompaction,
  place,
  'collect-scores': collectScores,
  launch,
  judge,
  diagnose,
  'start-next-execution': startNextExecution,
  report,
  'delete-packed': deletePacked,
  'on-training-event': onTrainingEvent,
  'on-spot-warning': onSpotWarning,
  'send-notices': sendNotices,
  'hand-over': handOver,
  reconcile,
  'expire-runs': expireRuns,
  api,
  plan,
  page,
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
  const { memoryMegabytes, onlyWith, environment, events, layers, files } = description;
  return {
    description: description.description,
    handler: `functions/handlers/${name}/handler.handler`,
    role: arnOf(roleId(name)),
    timeout: description.timeoutSeconds,
    ...(onlyWith !== undefined && { condition: CONDITIONS[onlyWith] }),
    ...(memoryMegabytes !== undefined && { memorySize: memoryMegabytes }),
    ...(layers !== undefined && { layers }),
    ...(environment !== undefined && { environment }),
    ...(events !== undefined && { events }),
    ...(files !== undefined && { package: { patterns: files } }),
  };
}
