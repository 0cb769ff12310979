/** Reads a stack of CloudFormation: status, outputs, and the physical names of its resources. */
import {
  type CloudFormationClient,
  DescribeStacksCommand,
  ListStackResourcesCommand,
} from '@aws-sdk/client-cloudformation';
import type { StackView } from '../../check/account-view.ts';

/** @returns undefined when there is no such stack */
export async function readStack(client: CloudFormationClient, name: string): Promise<StackView | undefined> {
  const described = await describe(client, name);
  if (described === undefined) return undefined;
  const resources = new Map<string, string>();
  let next: string | undefined;
  do {
    const page = await client.send(
      new ListStackResourcesCommand({ StackName: name, ...(next !== undefined && { NextToken: next }) }),
    );
    for (const { LogicalResourceId, PhysicalResourceId } of page.StackResourceSummaries ?? [])
      if (LogicalResourceId !== undefined && PhysicalResourceId !== undefined)
        resources.set(LogicalResourceId, PhysicalResourceId);
    next = page.NextToken;
  } while (next !== undefined);
  const outputs = (described.Outputs ?? []).flatMap(({ OutputKey, OutputValue }) =>
    OutputKey === undefined || OutputValue === undefined ? [] : [[OutputKey, OutputValue] as const],
  );
  return { status: described.StackStatus ?? '', outputs: new Map(outputs), resources };
}

/** @returns names of the stacks that exist, of those that a first page has; none where they may not be listed */
export async function stackNames(client: CloudFormationClient): Promise<readonly string[]> {
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({}));
    return Stacks.flatMap(({ StackName }) => StackName ?? []);
  } catch {
    return [];
  }
}

async function describe(client: CloudFormationClient, name: string) {
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: name }));
    return Stacks[0];
  } catch (error: unknown) {
    // CloudFormation answers ValidationError for a stack that does not exist.
    if (error instanceof Error && error.name === 'ValidationError') return undefined;
    throw error;
  }
}
