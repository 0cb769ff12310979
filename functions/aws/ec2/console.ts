/** Reads the end of an instance's console output, the only trace of a host that wrote no report. */
import { stripVTControlCharacters } from 'node:util';
import { type EC2Client, GetConsoleOutputCommand } from '@aws-sdk/client-ec2';
import { describeError } from '../shared/aws-errors.ts';

const LINES = 12;
const CHARACTERS = 900;

/** Never rejects: a missing explanation must not hide the failure. */
export async function consoleEnd(ec2: EC2Client, instanceId: string): Promise<string> {
  try {
    return lastLines(await outputOf(ec2, instanceId));
  } catch (error) {
    return `(unavailable: ${describeError(error)})`;
  }
}

export const consoleRequest = (InstanceId: string, Latest: boolean) => ({ InstanceId, Latest });

/** Only Nitro types have `Latest`. The others keep the output from shortly after the boot. */
async function outputOf(ec2: EC2Client, InstanceId: string): Promise<string> {
  const ask = async (latest: boolean) => {
    const { Output = '' } = await ec2.send(new GetConsoleOutputCommand(consoleRequest(InstanceId, latest)));
    return Buffer.from(Output, 'base64').toString('utf8');
  };
  try {
    return await ask(true);
  } catch (error) {
    if (error instanceof Error && error.name === 'UnsupportedOperation') return ask(false);
    throw error;
  }
}

function lastLines(output: string): string {
  // Colors and carriage returns of the boot are for terminals.
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.replaceAll(/\p{Cc}/gu, '').trimEnd())
    .filter((line) => line !== '');
  return lines.length === 0 ? '(empty)' : lines.slice(-LINES).join('\n').slice(-CHARACTERS);
}
