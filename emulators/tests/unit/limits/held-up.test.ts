/** What a person reads of the limits at the end of the demo. */
import { expect, it } from 'vitest';
import { heldUpLines } from '../../../limits/profiles.ts';

it('names each limit with its figures', () => {
  expect(heldUpLines('new-account', { invocations: 7, requests: 2 })).toEqual([
    'what the limits (new-account) held up:',
    '  7 invocations throttled and tried again: at most 10 functions run at once',
    '  2 S3 requests answered SlowDown and tried again: 5500 reads and 3500 writes a second in a prefix',
    '  each request: S3 answers after 0.1 s, DynamoDB after 0.009 s',
    '  each training job: SageMaker prepares instances for 60 s, with accelerators for 120 s, with eight or more for 1500 s',
  ]);
});
