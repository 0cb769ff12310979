import { expect, it } from 'vitest';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import { declaration, launch } from '../../../test/support/builders/launch.ts';

const index = {
  url: 'https://packages.example.com/simple/',
  secret: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:team/index-AbCdEf',
};
const declared = (packageIndex: unknown) => declaration({ training: { packageIndex } });

it('a package index reaches the agent alone', () => {
  const job = buildTrainingJob(launch({ declaration: declared(index) }));
  if (job.kind !== 'request') throw new Error(JSON.stringify(job.problems));
  const { Environment, ...rest } = job.request;
  expect(Environment).toEqual({
    TIDEWHEEL_SPOT: '1',
    TIDEWHEEL_MODEL: 'required',
    TIDEWHEEL_INDEX_URL: index.url,
    TIDEWHEEL_INDEX_SECRET: index.secret,
    TIDEWHEEL_WHEELS: expect.any(String),
  });
  expect(JSON.stringify(rest)).not.toContain('packages.example.com');
});

it('an index without credentials names no secret', () => {
  const job = buildTrainingJob(launch({ declaration: declared({ url: index.url }) }));
  expect(job).toMatchObject({
    request: {
      Environment: { TIDEWHEEL_SPOT: '1', TIDEWHEEL_MODEL: 'required', TIDEWHEEL_INDEX_URL: index.url },
    },
  });
});

const codeArtifact = { domain: 'team', owner: '111122223333', repository: 'wheels', region: 'eu-west-1' };

it('a CodeArtifact repository gives address and token', () => {
  const job = buildTrainingJob(launch({ declaration: declared({ codeArtifact }) }));
  expect(job).toMatchObject({
    request: {
      Environment: {
        TIDEWHEEL_INDEX_URL:
          'https://team-111122223333.d.codeartifact.eu-west-1.amazonaws.com/pypi/wheels/simple/',
        TIDEWHEEL_INDEX_SECRET: 'arn:aws:codeartifact:eu-west-1:111122223333:repository/team/wheels',
      },
    },
  });
});

it.each([
  {},
  { ...index, codeArtifact },
  { codeArtifact, secret: index.secret },
  { codeArtifact: { ...codeArtifact, owner: '1111' } },
  { codeArtifact: { ...codeArtifact, domain: 'team.example.com/' } },
  { url: 'https://user:word@packages.example.com/simple/' },
  { url: 'http://packages.example.com/simple/' },
  { ...index, secret: 'the-password-itself' },
  { secret: index.secret },
])('%j is refused by the schema', (packageIndex) => {
  expect(() => declared(packageIndex)).toThrow(/packageIndex/);
});
