/** The local SageMaker's requests and answers beside AWS's own model of SageMaker. */
import { join } from 'node:path';
import trimmed from '@tidewheel/emulators/sagemaker/api/service-model.json' with { type: 'json' };
import {
  JSON_BODY,
  type ServiceModel,
  violations,
} from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { describeJob, summariseJob } from '@tidewheel/emulators/sagemaker/jobs/describe.ts';
import { newRecord } from '@tidewheel/emulators/tests/unit/sagemaker/requests.ts';
import { describe, expect, it } from 'vitest';
import { botocore, loadModel } from './botocore.ts';

const sagemaker = loadModel('sagemaker/2017-07-24');

const TRIMMED_FILE = join(import.meta.dirname, '../../emulators/sagemaker/api/service-model.json');

/** The requests of the operations without their documentation. Each operation and shape has a line of its own. */
function trimmedText({ operations, shapes }: ServiceModel): string {
  const lines = (rows: readonly (readonly [string, unknown])[]): string =>
    rows
      .map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value, withoutDocumentation)}`)
      .join(',\n');
  const names = Object.keys(trimmed.operations);
  const inputs = names.flatMap((name) => operations[name]?.input?.shape ?? []);
  const notice =
    `From the service model sagemaker/2017-07-24 of botocore ${botocore().version}, Copyright Amazon.com, Inc. or its ` +
    'affiliates, Apache License 2.0. Changed: only the requests of these operations are here, without documentation.';
  return `{
  "notice": ${JSON.stringify(notice)},
  "operations": {
${lines(names.map((name) => [name, { input: operations[name]?.input }]))}
  },
  "shapes": {
${lines([...reachableShapes(sagemaker, inputs)].toSorted().map((name) => [name, shapes[name]]))}
  }
}
`;
}

/** The named shapes and every shape that they reach. */
function reachableShapes(model: ServiceModel, names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const { member, key, value, members = {} } = model.shapes[name] ?? {};
    for (const inner of [member, key, value, ...Object.values(members)]) if (inner) visit(inner.shape);
  };
  names.forEach(visit);
  return seen;
}

const withoutDocumentation = (key: string, value: unknown): unknown =>
  // A member of that name would be an object.
  key === 'documentation' && typeof value === 'string' ? undefined : value;

it('the local SageMaker has the requests of botocore’s model', async () => {
  // To renew the file: npx vitest run --project contract local-sagemaker --update
  await expect(trimmedText(sagemaker)).toMatchFileSnapshot(TRIMMED_FILE);
});

describe("an answer has the model's members and types", () => {
  const records = [
    ['a job that starts', newRecord()],
    [
      'a job that trains',
      newRecord({
        secondaryStatus: 'Training',
        trainingStartedAt: 4_000_000,
        phase: { startedAt: 4_000_000, billingRate: 0.3 },
        transitions: [
          { status: 'Starting', startedAt: 1_000_000, endedAt: 4_000_000, message: 'Starting the job' },
          { status: 'Training', startedAt: 4_000_000, message: 'Training' },
        ],
      }),
    ],
    [
      'a job that has failed',
      newRecord({
        status: 'Failed',
        secondaryStatus: 'Failed',
        failureReason: 'AlgorithmError: exit code 1',
        trainingStartedAt: 2_000_000,
        trainingEndedAt: 3_000_000,
        trainingSeconds: 1_000,
        billableSeconds: 300,
        metrics: [{ name: 'accuracy', value: 0.5, at: 2_500_000 }],
        modelUri: 's3://bucket/models/a-job/output/model.tar.gz',
      }),
    ],
  ] as const;

  it.each(records)('for %s', (_, record) => {
    const described = describeJob(record, 4_000_000);
    const found = violations(sagemaker, 'DescribeTrainingJobResponse', described, JSON_BODY);
    // The model requires this member of every answer. Before there is a model the local SageMaker leaves it empty.
    const noModel = { rule: 'pattern', path: 'modelArtifacts.s3ModelArtifacts' };
    expect(found.map(({ rule, path }) => ({ rule, path }))).toEqual(
      record.modelUri === undefined ? [noModel] : [],
    );
    const listed = { TrainingJobSummaries: [summariseJob(record)] };
    expect(violations(sagemaker, 'ListTrainingJobsResponse', listed, JSON_BODY)).toEqual([]);
  });
});
