/** What the local EC2 never answers: reservations that no host matches, and that a right is missing. */
import {
  DescribeCapacityBlockOfferingsCommand,
  DescribeCapacityReservationsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { offerSource } from '../../../functions/aws/market/offers.ts';
import { reservationSource } from '../../../functions/aws/market/reservations.ts';

const ID = 'cr-0123456789abcdef0';

it.each([
  ['Windows', 'default'],
  ['Linux/UNIX', 'dedicated'],
] as const)('no host fits %s with %s tenancy', async (InstancePlatform, Tenancy) => {
  mockClient(EC2Client)
    .on(DescribeCapacityReservationsCommand)
    .resolves({
      CapacityReservations: [
        { CapacityReservationId: ID, InstanceType: 'g5.xlarge', State: 'active', InstancePlatform, Tenancy },
      ],
    });
  const source = reservationSource({
    ec2: () => new EC2Client({}),
    sageMaker: () => new SageMakerClient({}),
    region: 'us-east-1',
    accountId: '123456789012',
  });
  expect(await source([ID])).toEqual({
    reservations: [],
    notes: [
      `${ID} is for ${InstancePlatform} with ${Tenancy} tenancy, and hosts here are Linux/UNIX with default tenancy: remove it from compute.reserved`,
    ],
  });
});

it('a missing right to search is an answer', async () => {
  const refused = Object.assign(new Error('You are not authorized'), { name: 'UnauthorizedOperation' });
  mockClient(EC2Client).on(DescribeCapacityBlockOfferingsCommand).rejects(refused);
  const ask = offerSource({ ec2: () => new EC2Client({}), sageMaker: () => new SageMakerClient({}) });
  const question = { kind: 'capacity-block', instanceType: 'p5.48xlarge', instances: 1, hours: 24 } as const;
  const answer = await ask({ ...question, endsBefore: new Date(1) });
  expect(answer).toMatchObject({ kind: 'unknown', failure: 'notAuthorised' });
});
