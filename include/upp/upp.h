/* upp/upp.h — all of libupp. */
#ifndef UPP_UPP_H
#define UPP_UPP_H

#include <upp/base.h>
#include <upp/hooks.h>
#include <upp/message.h>
#include <upp/model.h>
#include <upp/wait.h>

#endif
