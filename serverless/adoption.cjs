/** Whether a bucket and a table that exist can serve a stack (`--param="bucket=…"`, `--param="table=…"`). */
const { DescribeTableCommand, DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const {
  GetBucketEncryptionCommand,
  GetBucketNotificationConfigurationCommand,
  GetBucketPolicyCommand,
  HeadBucketCommand,
  S3Client,
} = require('@aws-sdk/client-s3');

/**
 * @param chosen the parameters, of which bucket, table and kmsKey count
 * @param account the number of the stack's account
 * @returns {Promise<string[]>} what is missing, with the remedy
 */
async function adoptionProblems(config, { bucket, table, kmsKey }, account) {
  const place = { region: config.region, account, kmsKey };
  return [
    ...(bucket === undefined ? [] : await bucketProblems(new S3Client(config), bucket, place)),
    ...(table === undefined ? [] : await tableProblems(new DynamoDBClient(config), table)),
  ];
}

async function bucketProblems(s3, Bucket, { region, account, kmsKey }) {
  const head = await s3.send(new HeadBucketCommand({ Bucket, ExpectedBucketOwner: account })).catch((error) => error);
  if (head instanceof Error)
    return [`the bucket ${Bucket} cannot be used from ${region}, or is not of the account ${account}: ${head.name} ${head.message}`];
  if (head.BucketRegion !== undefined && head.BucketRegion !== region)
    return [`the bucket ${Bucket} lies in ${head.BucketRegion}: deploy there, with --region ${head.BucketRegion}`];
  return [
    ...(await policyProblems(s3, Bucket)),
    ...(await encryptionProblems(s3, Bucket, kmsKey)),
    ...(await eventProblems(s3, Bucket)),
  ];
}

async function policyProblems(s3, Bucket) {
  const { Policy = '{}' } = await s3.send(new GetBucketPolicyCommand({ Bucket })).catch(() => ({}));
  const own = 'or deploy with a bucket of the stack';
  if (Policy.includes('s3:x-amz-content-sha256'))
    return [
      `the policy of the bucket ${Bucket} has a condition on s3:x-amz-content-sha256: packing sends UNSIGNED-PAYLOAD, over TLS ` +
        `with checksums. Remove the condition, ${own}`,
    ];
  if (deniesWithout(Policy, 's3:x-amz-server-side-encryption'))
    return [
      `the policy of the bucket ${Bucket} denies requests that name no encryption: those of Tidewheel rely on the bucket's ` +
        `default. Remove the condition on s3:x-amz-server-side-encryption, ${own}`,
    ];
  return [];
}

/**
 * Whether a statement denies requests without the key: negated operators match where it is absent.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
 */
function deniesWithout(policy, key) {
  const matches = ([operator, keys]) =>
    Object.entries(keys).some(
      ([name, value]) =>
        name.toLowerCase() === key && (/^StringNot|IfExists$/.test(operator) || (operator === 'Null' && `${value}` === 'true')),
    );
  return [JSON.parse(policy).Statement ?? []]
    .flat()
    .some(({ Effect, Condition = {} }) => Effect === 'Deny' && Object.entries(Condition).some(matches));
}

/** Roles may use a customer key only if the deployment names it. AWS's own key for S3 needs no right. */
async function encryptionProblems(s3, Bucket, kmsKey) {
  const answer = await s3.send(new GetBucketEncryptionCommand({ Bucket })).catch(() => ({}));
  const [rule] = answer.ServerSideEncryptionConfiguration?.Rules ?? [];
  const key = rule?.ApplyServerSideEncryptionByDefault?.KMSMasterKeyID;
  if (key === undefined || /(^|:)alias\/aws\/s3$/.test(key)) return [];
  const isNamed = kmsKey === key || (kmsKey ?? '').endsWith(`:key/${key}`) || (kmsKey !== undefined && key.includes('alias/'));
  if (isNamed) return [];
  return [`the bucket ${Bucket} encrypts with ${key}: deploy with --param="kmsKey=<ARN of this key>", so that the roles may use it`];
}

async function eventProblems(s3, Bucket) {
  const events = await s3.send(new GetBucketNotificationConfigurationCommand({ Bucket }));
  if (events.EventBridgeConfiguration !== undefined) return [];
  const { QueueConfigurations = [], TopicConfigurations = [], LambdaFunctionConfigurations = [] } = events;
  const foreign = [...QueueConfigurations, ...TopicConfigurations, ...LambdaFunctionConfigurations].filter(
    ({ QueueArn }) => !/:tidewheel-[^:]*$/.test(QueueArn ?? ''),
  );
  // Those of a stack that was removed name its queue, and S3 takes no configuration that names a queue which is gone.
  if (foreign.length === 0)
    return [
      `the bucket ${Bucket} sends no events to EventBridge: run aws s3api put-bucket-notification-configuration --bucket ${Bucket} ` +
        `--notification-configuration '{"EventBridgeConfiguration":{}}' and deploy again`,
    ];
  return [
    `the bucket ${Bucket} sends no events to EventBridge: switch it on in the console (Properties, Amazon EventBridge), or add ` +
      '"EventBridgeConfiguration": {} to what `aws s3api get-bucket-notification-configuration` prints and put it back',
  ];
}

const KEYS = { pk: 'HASH', sk: 'RANGE' };
const INDEXES = ['open', 'list', 'begun'];

async function tableProblems(dynamo, TableName) {
  const found = await dynamo.send(new DescribeTableCommand({ TableName })).catch((error) => error);
  if (found instanceof Error) return [`the table ${TableName} cannot be used: ${found.name} ${found.message}`];
  const { KeySchema = [], GlobalSecondaryIndexes = [] } = found.Table;
  const isKeyed = KeySchema.length === 2 && KeySchema.every(({ AttributeName, KeyType }) => KEYS[AttributeName] === KeyType);
  const missing = INDEXES.filter((name) => !GlobalSecondaryIndexes.some(({ IndexName }) => IndexName === name));
  if (isKeyed && missing.length === 0) return [];
  if (isKeyed && missing.length < INDEXES.length)
    return missing.map(
      (name) =>
        `the table ${TableName} has no index ${name}, which this release needs: create it as serverless/storage.yml describes it ` +
        '(aws dynamodb update-table --global-secondary-index-updates), and deploy once it is active',
    );
  return [`the table ${TableName} is none of Tidewheel's: it needs the keys and indexes of serverless/storage.yml`];
}

module.exports = { adoptionProblems };
