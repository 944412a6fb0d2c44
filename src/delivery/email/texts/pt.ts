/** The texts of mails in Portuguese, in words that are at home in Portugal and in Brazil. */

import type { Texts } from './en.ts';

export const pt: Texts = {
  cardTitle: 'Cartão-presente',
  valueLabel: 'Valor',
  balanceLabel: 'Saldo disponível',
  codeLabel: 'Código do cartão-presente',
  qrAlt: 'Código QR com o código do cartão-presente',
  codeHint: 'Insira este código ao finalizar a compra ou mostre-o ao pagar.',
  codeIsMoney: 'Guarde este e-mail em segurança: quem tiver o código pode gastar o cartão-presente.',
  expiryLabel: 'Válido até',
  endingLabel: 'Código terminado em',
  recipientLabel: 'Destinatário',
  issuedLabel: 'Data',
  sendOnLabel: 'Data de envio',
  orderLabel: 'Número do pedido',
  messageLabel: 'Mensagem',
  openCard: 'Ver cartão-presente',
  checkBalance: 'Consultar saldo',
  findCode: 'O código está no e-mail com o qual recebeu o cartão-presente.',
  contact: 'Tem alguma pergunta? Escreva para {address}.',
  automatic: 'Este e-mail foi enviado automaticamente em nome de {store}.',
  unsubscribe: 'Deixar de receber lembretes',

  giftCardSubject: 'Um cartão-presente da loja {store} à sua espera',
  giftCardPreheader: 'Recebeu um cartão-presente no valor de {amount}.',
  giftCardHeading: 'Um cartão-presente à sua espera',
  giftCardIntro: 'Recebeu um cartão-presente para gastar na loja {store}.',

  receiptSubject: 'O seu recibo do cartão-presente da loja {store}',
  receiptPreheader: 'Agradecemos a compra de um cartão-presente no valor de {amount}.',
  receiptHeading: 'Agradecemos a sua compra',
  receiptIntro: 'Aqui estão os dados do cartão-presente que comprou na loja {store}.',
  receiptNoCode: 'Por segurança, o código não consta deste recibo. Segue em um e-mail separado.',

  expirySubject: 'O seu cartão-presente da loja {store} expira em breve',
  expiryPreheader: 'Pode gastar {amount} até {date}.',
  expiryHeading: 'O seu cartão-presente expira em breve',
  expiryIntro: 'Pode usar o seu cartão-presente da loja {store} até {date}.',

  balanceSubject: 'Ainda tem saldo na loja {store}',
  balancePreheader: 'Ainda tem {amount} para gastar.',
  balanceHeading: 'Ainda há saldo no seu cartão-presente',
  balanceIntro: 'O seu cartão-presente da loja {store} tem um saldo que ainda pode gastar.',

  failedSubject: 'Não foi possível entregar o seu cartão-presente',
  failedPreheader: 'O e-mail com o cartão-presente não chegou ao destinatário.',
  failedHeading: 'Não conseguimos entregar o seu cartão-presente',
  failedIntro: 'Não foi possível entregar a {address} o e-mail com o cartão-presente.',
  failedSafe: 'O cartão-presente mantém todo o seu valor.',
  failedNext: 'Verifique o endereço e fale com a loja, para que possamos enviá-lo novamente.',

  sampleMessage: 'Feliz aniversário!\nEspero que encontre algo bonito. Boa escolha e um abraço para todos.',
};
