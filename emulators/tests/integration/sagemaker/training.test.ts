import { gunzipSync } from 'node:zlib';
import { imageFor } from '@tidewheel/catalog/images.ts';
import { beforeAll, expect, test, vi } from 'vitest';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  return () => ground.close();
});

const WRITE_MODEL = `
import os, sys
base = os.environ['SAGEMAKER_BASE_DIR']
open(base + '/model/weights.txt', 'w').write('learnt')
os.symlink('weights.txt', base + '/model/latest.txt')
os.symlink('/etc/passwd', base + '/model/passwd')
os.mkfifo(base + '/model/pipe')
print('done')
`;

test('a successful program gives a job and model', async () => {
  const name = await ground.create({ script: WRITE_MODEL });
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Completed', SecondaryStatus: 'Completed' });
  const uri = `s3://${ground.bucket}/models/${name}/output/model.tar.gz`;
  expect(job.ModelArtifacts?.S3ModelArtifacts).toBe(uri);
  const archive = gunzipSync(await ground.get(`models/${name}/output/model.tar.gz`)).toString('latin1');
  expect(archive).toContain('weights.txt');
  expect(archive).toContain('learnt');
  // A link inside the folder stays a link; nothing is followed out of it.
  expect(archive.split('learnt')).toHaveLength(2);
  expect(archive).toContain('latest.txt');
  expect(archive).not.toMatch(/passwd|pipe|root:/);
  expect(job.SecondaryStatusTransitions?.map(({ Status }) => Status)).toEqual([
    'Starting',
    'Downloading',
    'Training',
    'Uploading',
    'Completed',
  ]);
});

test('packages that stand for an image are named', async () => {
  const region = { framework: 'sklearn', version: '1.4-2', region: 'us-east-1', device: 'cpu' } as const;
  const answer = imageFor(region);
  const image = answer.kind === 'image' ? answer.uri : '';
  // So that pip ends at once, at the state that the test looks for.
  vi.stubEnv('PIP_NO_INDEX', '1');
  const AlgorithmSpecification = { TrainingImage: image, TrainingInputMode: 'File' } as const;
  const name = await ground.create({ script: 'print(1)', AlgorithmSpecification });
  const job = await ground.ended(name);
  vi.unstubAllEnvs();
  expect(job.FailureReason).toContain('This machine has not the packages of the image (scikit-learn==1.4.2');
  expect(job.SecondaryStatusTransitions?.at(-2)).toMatchObject({
    Status: 'Downloading',
    StatusMessage: expect.stringContaining('this machine installs its packages (scikit-learn==1.4.2, scipy'),
  });
});
