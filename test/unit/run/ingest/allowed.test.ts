import { describe, expect, it } from 'vitest';
import { type Allowed, readAllowedDeclaration } from '../../../../functions/run/ingest/allowed.ts';
import { ANY_NETWORK } from '../../../support/builders/allowed.ts';

const NOTHING: Allowed = { ...ANY_NETWORK, subnets: [], securityGroups: [] };
const SECRET = 'arn:aws:secretsmanager:us-east-1:123456789012:secret:index-AbCdEf';
const VPC = '{ subnets: [{ id: subnet-1, zoneId: use1-az4 }], securityGroupIds: [sg-1] }';

/** The problems of a declaration with these parts, by path. */
function problemsOf(
  allowed: Allowed,
  { training = '', compute = '', rest = '' },
): Readonly<Record<string, string>> {
  const text = `
name: digits
training: { strategy: mpi, ${training} }
compute: { instanceTypes: [g5.xlarge], ${compute} }
${rest}`;
  const read = readAllowedDeclaration({ allowed, bucket: 'tw-data' }, 'digits', text);
  return read.valid ? {} : Object.fromEntries(read.problems.map(({ path, message }) => [path, message]));
}

describe('a deployment without parameters', () => {
  it('allows a declaration that names nothing', () => {
    expect(problemsOf(NOTHING, {})).toEqual({});
  });

  it('refuses every network with the remedy', () => {
    const regions = `regions: [{ name: us-east-1 }, { name: us-west-2, vpc: ${VPC} }]`;
    expect(problemsOf(NOTHING, { compute: `vpc: ${VPC}, ${regions}` })).toEqual({
      'compute.vpc.subnets[0].id':
        '"subnet-1" is not allowed by the deployment: deploy with --param="subnets=subnet-1"',
      'compute.vpc.securityGroupIds[0]':
        '"sg-1" is not allowed by the deployment: deploy with --param="securityGroups=sg-1"',
      'compute.regions[1].vpc.subnets[0].id': expect.stringContaining('subnet-1'),
      'compute.regions[1].vpc.securityGroupIds[0]': expect.stringContaining('sg-1'),
    });
  });

  it('refuses every secret', () => {
    const training = `packageIndex: { url: "https://packages.example.com/", secret: "${SECRET}" }`;
    const problems = problemsOf(NOTHING, { training });
    expect(problems['training.packageIndex.secret']).toContain(`--param="packageIndexSecret=${SECRET}"`);
    expect(problemsOf({ ...NOTHING, packageIndexSecret: SECRET }, { training })).toEqual({});
  });

  it('refuses every repository of CodeArtifact', () => {
    const arn = 'arn:aws:codeartifact:us-east-1:111122223333:repository/team/wheels';
    const training =
      'packageIndex: { codeArtifact: { domain: team, owner: "111122223333", repository: wheels, region: us-east-1 } }';
    const problems = problemsOf(NOTHING, { training });
    expect(problems['training.packageIndex.codeArtifact']).toContain(
      `--param="packageIndexRepository=${arn}"`,
    );
    expect(problemsOf({ ...NOTHING, packageIndexRepository: arn }, { training })).toEqual({});
  });

  it('refuses registries where it hands nothing over', () => {
    const rest = { rest: 'promote: always\nregistries: { sagemaker: {} }' };
    expect(problemsOf({ ...NOTHING, registries: false }, rest)['registries']).toContain(
      '--param="registries=yes"',
    );
    expect(problemsOf(NOTHING, rest)).toEqual({});
  });

  it('refuses a framework that has no image', () => {
    const training = 'framework: xgboost, frameworkVersion: 1.7-1';
    expect(problemsOf(NOTHING, { training })['training.frameworkVersion']).toContain(
      'use training.frameworkVersion: "3.0-5"',
    );
  });

  it.each([
    '683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:3.2-0',
    '763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch:2.13',
    '123456789012.dkr.ecr.eu-west-1.amazonaws.com/own@sha256:0123',
    '727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/pytorch:2.13',
  ])('allows the image %s', (image) => {
    expect(problemsOf(NOTHING, { training: `image: "${image}"` })).toEqual({});
  });

  it.each([
    ['999999999999.dkr.ecr.us-east-1.amazonaws.com/theirs:1', /--param="imageAccounts=999999999999"/],
    ['docker.io/pytorch/pytorch', /not an image in Amazon ECR/],
    ['999999999999.dkr.ecr.us-east-1.example.com/123456789012.dkr.ecr.x:1', /not an image in Amazon ECR/],
  ])('refuses the image %s', (image, message) => {
    expect(problemsOf(NOTHING, { training: `image: "${image}"` })['training.image']).toMatch(message);
  });

  it("lets scripts read their pipeline's folder alone", () => {
    const problems = problemsOf(NOTHING, {
      training:
        'source: "s3://tw-data/digits-2/code/", channels: { own: { s3: "s3://tw-data/digits/masks/" }, other: { s3: "s3://tw-data/other/masks/" } }',
    });
    expect(Object.keys(problems)).toEqual(['training.source', 'training.channels.other.s3']);
    expect(problems['training.source']).toContain('use a prefix under s3://tw-data/digits/, or deploy with');
  });
});

describe('a deployment with parameters', () => {
  const allowed: Allowed = {
    ...NOTHING,
    subnets: ['subnet-1', 'subnet-2'],
    securityGroups: ['sg-1'],
    imageAccounts: ['999999999999'],
    sharedPrefixes: ['s3://other/masks/'],
  };

  it('allows what they name', () => {
    expect(
      problemsOf(allowed, {
        training:
          'image: "999999999999.dkr.ecr.us-east-1.amazonaws.com/theirs:1", channels: { masks: { s3: "s3://other/masks/v2/" } }',
        compute: `vpc: ${VPC}`,
      }),
    ).toEqual({});
  });

  it('says what may be used instead', () => {
    const compute = `vpc: ${VPC.replace('subnet-1', 'subnet-3')}`;
    expect(problemsOf(allowed, { compute })).toEqual({
      'compute.vpc.subnets[0].id':
        '"subnet-3" is not allowed by the deployment: use subnet-1 or subnet-2, or deploy with --param="subnets=subnet-1,subnet-2,subnet-3"',
    });
  });

  it('reports the problems of the declaration first', () => {
    const compute = `vpc: ${VPC}, nodes: 0`;
    expect(Object.keys(problemsOf(NOTHING, { compute }))).toEqual(['compute.nodes']);
  });
});
