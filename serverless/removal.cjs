/** Whether a stack may be removed: its runs would train on, and nothing would stop or record them. */
const { DynamoDBClient, QueryCommand } = require('@aws-sdk/client-dynamodb');

/** @returns {Promise<string | undefined>} what is unfinished and the commands that end it */
async function removalProblem(config, { TableName, RunStateMachineArn, DataBucketName, stage, region }) {
  const client = new DynamoDBClient(config);
  const [runs, attempts] = [await open(client, TableName, 'RUN'), await open(client, TableName, 'ATTEMPT')];
  if (runs.length === 0 && attempts.length === 0) return undefined;
  const executions = RunStateMachineArn.replace(':stateMachine:', ':execution:');
  return [
    `tidewheel-${stage} has ${runs.length} unfinished runs and ${attempts.length} jobs. Without the stack the jobs would`,
    'train until their time limit, and their models would be recorded nowhere. Wait for them, or stop them:',
    `  aws lambda put-function-concurrency --region ${region} --function-name tidewheel-${stage}-reconcile --reserved-concurrent-executions 0`,
    ...runs.map(
      ({ runId, execution }) =>
        `  aws stepfunctions stop-execution --region ${region} --execution-arn ${executions}:${runId.S}-x${execution.N}`,
    ),
    ...attempts.map((attempt) => `  ${stopCommand(attempt, region)}`),
    `Then remove with --param="unfinishedRuns=leave". The bucket ${DataBucketName} and the table ${TableName} stay; a later`,
    `deployment takes them up with --param="bucket=${DataBucketName}" --param="table=${TableName}".`,
  ].join('\n');
}

function stopCommand({ jobName, launcher, placement }, home) {
  const region = placement?.M.pool.M.region?.S ?? home;
  if (launcher.S === 'sagemaker')
    return `aws sagemaker stop-training-job --region ${region} --training-job-name ${jobName.S}`;
  const filter = `--filters Name=tag:tidewheel:job,Values=${jobName.S}`;
  const hosts = `aws ec2 describe-instances --region ${region} ${filter} --query 'Reservations[].Instances[].InstanceId' --output text`;
  return `aws ec2 terminate-instances --region ${region} --instance-ids $(${hosts})`;
}

async function open(client, TableName, kind) {
  const found = [];
  let start;
  do {
    const page = await client.send(
      new QueryCommand({
        TableName,
        IndexName: 'open',
        KeyConditionExpression: '#open = :kind',
        ExpressionAttributeNames: { '#open': 'open' },
        ExpressionAttributeValues: { ':kind': { S: kind } },
        ExclusiveStartKey: start,
      }),
    );
    found.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return found;
}

module.exports = { removalProblem };
