/**
 * Lists that the deployment gives as parameters, such as --param="subnets=subnet-1,subnet-2", as the policies need them.
 * An empty list becomes one value that matches nothing, because IAM refuses an empty one.
 */
const ID = /^(\*|[a-z]+-[0-9a-f]{1,29})$/;
const ACCOUNT = /^\d{12}$/;
const PREFIX = /^s3:\/\/[a-z0-9.-]{3,63}\/.+\/$/;

/** @throws when a value is none of its kind, before anything is deployed */
const read = (parameter, shape) => async (context) => {
  const text = await context.resolveVariable(`param:${parameter}, ''`);
  const values = String(text)
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  const wrong = values.find((value) => !shape.test(value));
  if (wrong !== undefined)
    throw new Error(`--param="${parameter}=${text}": "${wrong}" does not match ${shape.source}`);
  return values;
};
const orNone = (values, none) => (values.length === 0 ? [none] : values);
const arn = (text) => ({ 'Fn::Sub': `arn:\${AWS::Partition}:${text}` });

const subnets = read('subnets', ID);
const securityGroups = read('securityGroups', ID);
const imageAccounts = read('imageAccounts', ACCOUNT);
const indexRepositories = read('packageIndexRepository', /^arn:[^:]+:codeartifact:/);
const sharedPrefixes = read('sharedPrefixes', PREFIX);

const ec2Arns = (ids, kind) =>
  orNone(ids, 'none').map((id) => arn(`ec2:*:\${AWS::AccountId}:${kind}/${id}`));

module.exports = {
  subnetIds: async (context) => orNone(await subnets(context), 'none'),
  subnetArns: async (context) => ec2Arns(await subnets(context), 'subnet'),
  securityGroupIds: async (context) => orNone(await securityGroups(context), 'none'),
  securityGroupArns: async (context) => ec2Arns(await securityGroups(context), 'security-group'),
  /** All that an interface of a training job is made of. */
  interfaceArns: async (context) => [
    arn('ec2:*:${AWS::AccountId}:network-interface/*'),
    ...ec2Arns(await subnets(context), 'subnet'),
    ...ec2Arns(await securityGroups(context), 'security-group'),
  ],
  /** Owners of machine images. `amazon` stands for AWS's own, such as its Deep Learning AMIs. */
  machineImageOwners: async (context) => [
    'amazon',
    { Ref: 'AWS::AccountId' },
    ...(await imageAccounts(context)),
  ],
  repositoryArns: async (context) =>
    orNone(await imageAccounts(context), '000000000000').map((account) =>
      arn(`ecr:*:${account}:repository/*`),
    ),
  indexRepositoryArns: async (context) =>
    orNone(await indexRepositories(context), 'arn:aws:codeartifact:us-east-1:000000000000:repository/none/none'),
  /** Tokens are given by domains. */
  indexDomainArns: async (context) =>
    orNone(await indexRepositories(context), 'arn:aws:codeartifact:us-east-1:000000000000:repository/none/none').map(
      (repository) => repository.replace(/:repository\/([^/]+)\/.*/, ':domain/$1'),
    ),
  sharedBucketArns: async (context) => {
    const buckets = (await sharedPrefixes(context)).map((uri) => uri.split('/')[2]);
    return orNone([...new Set(buckets)], 'none').map((bucket) => arn(`s3:::${bucket}`));
  },
  sharedObjectArns: async (context) =>
    orNone(await sharedPrefixes(context), 's3://none/none/').map((uri) =>
      arn(`s3:::${uri.slice('s3://'.length)}*`),
    ),
};
