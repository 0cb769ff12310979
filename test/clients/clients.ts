/** The clients, and what each must have seen of its job. */
import * as z from 'zod';
import type { EndedProgram } from '../../cli/recipes/program.ts';
import type { EnvironmentName } from './environments/environments.ts';
import { WORDS } from './ground.ts';

export interface Client {
  readonly name: string;
  readonly title: string;
  readonly environment: EnvironmentName;
  readonly script: string;
}

export const CLIENTS: readonly Client[] = [
  { name: 'boto3', title: 'boto3 1.44', environment: 'cli', script: 'with_boto3.py' },
  { name: 'cli', title: 'AWS CLI 1.46', environment: 'cli', script: 'with_aws_cli.py' },
  {
    name: 'v2',
    title: 'SageMaker Python SDK 2.257 (PyTorch.fit)',
    environment: 'sdk-v2',
    script: 'with_sdk_v2.py',
  },
  {
    name: 'v3',
    title: 'SageMaker Python SDK 3.27 (ModelTrainer.train)',
    environment: 'sdk-v3',
    script: 'with_sdk_v3.py',
  },
];

const seen = z.object({ job: z.string(), status: z.string(), reason: z.string() });

/** The script's own lines, each epoch's, as they must have come through the client's log; SDK 3 adds the time to the name. */
const epochsOf = (job: string): RegExp[] =>
  [0, 1, 2].map((epoch) => new RegExp(`job=${job}(-\\d+)? epoch=${epoch} words=${WORDS}\\b`));

/** What is wrong with what a client printed. */
export async function judge(
  { code, output }: EndedProgram,
  { job, isSpoilt }: { readonly job: string; readonly isSpoilt: boolean },
  modelBytes: (uri: string) => Promise<number | undefined>,
): Promise<string[]> {
  const last = output.split('\n').findLast((line) => line.startsWith('saw '));
  if (code !== 0 || last === undefined) return [`the client ended with ${code} and no last word`];
  const { status, reason } = seen.parse(JSON.parse(last.slice('saw '.length)));
  const expected = isSpoilt ? 'Failed' : 'Completed';
  return [
    ...epochsOf(job)
      .filter((line) => !line.test(output))
      .map((line) => `its log lacks ${line.source}`),
    ...(status === expected ? [] : [`it saw ${status}, not ${expected}`]),
    ...(isSpoilt && !reason.includes('AlgorithmError') ? [`its reason is "${reason}"`] : []),
    ...(isSpoilt || (await modelBytes(reason)) ? [] : [`there is no model at "${reason}"`]),
  ];
}
