import type { Feature } from '../../feature.ts';
import { addCertificateCommand } from './cli/certificate.ts';

export const httpsFeature: Feature = {
  name: 'https',
  addCommands: addCertificateCommand,
};
