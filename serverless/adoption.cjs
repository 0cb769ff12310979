/** Whether a bucket and a table that exist can serve a stack (`--param="bucket=…"`, `--param="table=…"`). */
const { DescribeTableCommand, DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const {
  GetBucketNotificationConfigurationCommand,
  GetBucketPolicyCommand,
  HeadBucketCommand,
  S3Client,
} = require('@aws-sdk/client-s3');

/** @returns {Promise<string[]>} what is missing, with the remedy */
async function adoptionProblems(config, { bucket, table }) {
  return [
    ...(bucket === undefined ? [] : await bucketProblems(new S3Client(config), bucket, config.region)),
    ...(table === undefined ? [] : await tableProblems(new DynamoDBClient(config), table)),
  ];
}

async function bucketProblems(s3, Bucket, region) {
  const head = await s3.send(new HeadBucketCommand({ Bucket })).catch((error) => error);
  if (head instanceof Error) return [`the bucket ${Bucket} cannot be used from ${region}: ${head.name} ${head.message}`];
  if (head.BucketRegion !== undefined && head.BucketRegion !== region)
    return [`the bucket ${Bucket} lies in ${head.BucketRegion}: deploy there, with --region ${head.BucketRegion}`];
  const { Policy = '' } = await s3.send(new GetBucketPolicyCommand({ Bucket })).catch(() => ({}));
  if (Policy.includes('s3:x-amz-content-sha256'))
    return [
      `the policy of the bucket ${Bucket} has a condition on s3:x-amz-content-sha256: packing sends UNSIGNED-PAYLOAD, over TLS ` +
        'with checksums. Remove the condition, or deploy with a bucket of the stack',
    ];
  const events = await s3.send(new GetBucketNotificationConfigurationCommand({ Bucket }));
  if (events.EventBridgeConfiguration !== undefined) return [];
  return [
    `the bucket ${Bucket} sends no events to EventBridge: switch it on in the console (Properties, Amazon EventBridge), or add ` +
      '"EventBridgeConfiguration": {} to what `aws s3api get-bucket-notification-configuration` prints and put it back',
  ];
}

const KEYS = { pk: 'HASH', sk: 'RANGE' };
const INDEXES = ['open', 'list'];

async function tableProblems(dynamo, TableName) {
  const found = await dynamo.send(new DescribeTableCommand({ TableName })).catch((error) => error);
  if (found instanceof Error) return [`the table ${TableName} cannot be used: ${found.name} ${found.message}`];
  const { KeySchema = [], GlobalSecondaryIndexes = [] } = found.Table;
  const isKeyed = KeySchema.length === 2 && KeySchema.every(({ AttributeName, KeyType }) => KEYS[AttributeName] === KeyType);
  const missing = INDEXES.filter((name) => !GlobalSecondaryIndexes.some(({ IndexName }) => IndexName === name));
  if (isKeyed && missing.length === 0) return [];
  return [`the table ${TableName} is none of Tidewheel's: it needs the keys and indexes of serverless/storage.yml`];
}

module.exports = { adoptionProblems };
