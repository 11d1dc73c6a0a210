// Exceptions out of callbacks, and ADZ_NO_GRAD left early, from C++17. Prints what is wrong.
#include <adze/adze.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace
{

int wrong = 0;

void expect(bool right, const char *what)
{
    if (!right) {
        std::printf("wrong: %s\n", what);
        ++wrong;
    }
}

void throw_message(adz_status, const char *message, void *)
{
    throw std::runtime_error(message);
}

adz_tensor *throw_from_hook(adz_tensor *, void *)
{
    throw std::runtime_error("hook");
}

/* A shape that the second layer does not take, three times. */
void out_of_a_forward()
{
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(8, 4, nullptr), adz_linear_new(5, 1, nullptr));
    adz_on_error(throw_message, nullptr);
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        std::string message;
        try {
            adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 8), ADZ_F32));
        } catch (const std::exception &e) {
            message = e.what();
        }
        expect(message.rfind("1: linear: ", 0) == 0, "the message names the second layer alone");
        try {
            adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 8), ADZ_F32));
        } catch (const std::exception &e) {
            message = e.what();
        }
        expect(message.rfind("1: linear: ", 0) == 0, "and so at once after an exception");
        adz_scope_close(scope);
    }
    adz_scope *scope = adz_scope_open();
    try {
        ADZ_NO_GRAD
        {
            adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 8), ADZ_F32));
        }
    } catch (const std::exception &) {
    }
    expect(adz_is_grad_enabled(), "gradients are on after an exception out of ADZ_NO_GRAD");
    adz_on_error(nullptr, nullptr);
    adz_error_clear();
    adz_module_release(&m);
    adz_scope_close(scope);
}

void out_of_a_backward()
{
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 3, ADZ_F64), true);
        adz_tensor *h = adz_mul(x, x), *loss = adz_sum(h, ADZ_ALL_DIMS, ADZ_DROPDIM);
        uint64_t id = adz_register_hook(h, throw_from_hook, nullptr);
        bool caught = false;
        try {
            adz_backward(loss);
        } catch (const std::exception &) {
            caught = true;
        }
        expect(caught, "the hook's exception arrives");
        expect(adz_tensor_requires_grad(adz_mul(x, x)), "operators record after an exception");
        expect(adz_tensor_grad(x) == nullptr, "a backward that was left changes no gradient");
        expect(adz_remove_hook(h, id) == ADZ_OK, "the graph is still there");
        adz_tensor *again = adz_sum(adz_mul(x, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
        expect(adz_backward(again) == ADZ_OK, "the next backward");
        expect(adz_tensor_data_f64(adz_tensor_grad(x))[1] == 6, "its gradient");
        adz_scope_close(scope);
    }
}

int by_return()
{
    ADZ_NO_GRAD
    {
        ADZ_NO_GRAD
        {
            return adz_is_grad_enabled() ? 1 : 2;
        }
    }
    return 3;
}

void out_of_a_block()
{
    int turns = 0;
    for (int i = 0; i < 3; ++i, ++turns) {
        ADZ_NO_GRAD
        {
            if (i == 1) {
                break;
            }
        }
        expect(adz_is_grad_enabled(), "gradients are on after break");
    }
    expect(turns == 3, "break leaves the block and not the loop around it");
    expect(by_return() == 2 && adz_is_grad_enabled(), "gradients are on after return");
}

} // namespace

int main()
{
    adz_memory_info before, after;
    for (int i = 0; i < 3; ++i) {
        adz_get_memory_info(&before, sizeof before);
        out_of_a_forward();
        out_of_a_backward();
        adz_get_memory_info(&after, sizeof after);
    }
    expect(after.live_tensors == before.live_tensors, "no tensor stays");
    out_of_a_block();
    return wrong != 0;
}
