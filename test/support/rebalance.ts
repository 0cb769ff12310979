/** EC2 sends it before some interruptions; the local market does not. */
import type { PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';

/** @param region of the instance */
export const rebalanceRecommendation = (instanceId: string, region: string): PutEventsRequestEntry => ({
  Source: 'aws.ec2',
  DetailType: 'EC2 Instance Rebalance Recommendation',
  Resources: [`arn:aws:ec2:${region}:000000000000:instance/${instanceId}`],
  Detail: JSON.stringify({ 'instance-id': instanceId }),
});
