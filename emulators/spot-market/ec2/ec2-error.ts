/** An error that EC2 answers with, by its code. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html */
export class Ec2Error extends Error {
  override readonly name = 'Ec2Error';
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
