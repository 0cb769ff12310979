/** Scripts for boto3: a queue that receives what a rule of a user's own matches, and what it has received. */

/** Prints the address of the queue. */
export const LISTEN = `
sqs, events = boto3.client('sqs'), boto3.client('events')
url = sqs.create_queue(QueueName='my-own')['QueueUrl']
arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=['QueueArn'])['Attributes']['QueueArn']
events.put_rule(Name='my-own', EventPattern=json.dumps({'source': ['tidewheel'], 'detail': {'pipeline': ['digits']}}))
events.put_targets(Rule='my-own', Targets=[{'Id': 'queue', 'Arn': arn}])
print(json.dumps(url))`;

/** Prints a list of types and details. */
export const hearFrom = (queueUrl: string): string => `
sqs, heard = boto3.client('sqs'), []
while messages := sqs.receive_message(QueueUrl='${queueUrl}', MaxNumberOfMessages=10).get('Messages'):
    for message in messages:
        event = json.loads(message['Body'])
        heard.append([event['detail-type'], event['detail']])
        sqs.delete_message(QueueUrl='${queueUrl}', ReceiptHandle=message['ReceiptHandle'])
print(json.dumps(heard))`;
